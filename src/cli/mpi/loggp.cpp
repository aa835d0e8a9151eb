// rubato loggp: the parameters of the network between two ranks, as a model that simulations read.
#include "cli/command.hpp"
#include "cli/mpi/loggp_report.hpp"
#include "files/output_file.hpp"
#include "mpi/datatype.hpp"

#include <fmt/format.h>

#include <array>
#include <thread>

namespace rubato::cli {
namespace {

struct loggp_options {
    std::string ranks = "0,1";
    std::string max_bytes = "1MiB";
    std::string seconds = "10s";
    std::string file{};
    bool json = false;
};

mpi::measure_settings settings_of(const loggp_options& o, int ranks) {
    if (ranks < 2)
        throw error("there is nothing to measure", "a network is between two ranks or more",
                    "start it with 'mpirun -n 2 rubato loggp'");
    const std::vector<std::int32_t> pair = parse_list(o.ranks, "rank", 0, ranks - 1);
    if (pair.size() != 2 || pair[0] == pair[1])
        throw error(fmt::format("cannot measure between ranks '{}'", o.ranks), "it takes two different ones",
                    "write them as --ranks 0,1");
    const bool plain = o.seconds.find_first_not_of("0123456789") == std::string::npos;
    const time_ns budget = parse_time(plain ? o.seconds + "s" : o.seconds);
    if (budget < std::chrono::seconds(1) || budget > std::chrono::hours(1))
        throw error(fmt::format("cannot measure for {}", o.seconds), "it takes from a second to an hour",
                    "use --seconds 10");
    mpi::measure_settings s{pair[0], pair[1], parse_bytes(o.max_bytes), budget};
    if (s.max_bytes < 1 << 10 || s.max_bytes > 1 << 30)
        throw error(fmt::format("cannot measure messages up to {}", o.max_bytes),
                    "fewer than 1 KiB show no rate, and more than 1 GiB do not fit", "use --max-bytes 1MiB");
    return s;
}

/// Checks the output before a measurement of minutes. Only rank 0 writes, so only rank 0 checks.
void check_everywhere(const loggp_options& o, int me) {
    std::string problem;
    try {
        if (me == 0) files::output_file{o.file};
    } catch (const error& e) {
        problem = e.what();
    }
    int wrong = problem.empty() ? 0 : 1;
    mpi::check(MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Bcast");
    if (wrong != 0) throw error(problem);
}

void send_text(const std::string& text, int to) {
    mpi::check(MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, to, 0, MPI_COMM_WORLD), "MPI_Send");
}

/// Sleeps until the text is sent, so that the measuring ranks are not disturbed.
std::string receive_text(int from) {
    MPI_Status status{};
    for (int there = 0; there == 0;) {
        mpi::check(MPI_Iprobe(from, 0, MPI_COMM_WORLD, &there, &status), "MPI_Iprobe");
        if (there == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    int length = 0;
    mpi::check(MPI_Get_count(&status, MPI_CHAR, &length), "MPI_Get_count");
    std::string text(static_cast<std::size_t>(length), ' ');
    mpi::check(MPI_Recv(text.data(), length, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
    return text;
}

/// The client has the results, rank 0 prints and writes them, the other ranks wait until all is done.
void measure(const loggp_options& o, const mpi::measure_settings& how, int me, int ranks) {
    std::array<std::string, 2> texts;  // to be printed, to be written
    if (const std::optional<mpi::measured_network> measured = mpi::measure_network(MPI_COMM_WORLD, how)) {
        const loggp_report report(*measured, how);
        texts = {o.json ? report.json() : report.table(), report.model_file()};
        for (int r = 0; r < ranks; ++r)
            for (const std::string& t : texts)
                if (r != me) send_text(r == 0 ? t : "", r);
    } else {
        for (std::string& t : texts) t = receive_text(how.client);
    }
    if (me != 0) return;
    files::output_file(o.file).write(texts[1]);
    if (!o.json)
        texts[0] +=
            o.file.empty() ? "\n" + texts[1] : fmt::format("written to {}: use --model file:{}\n", o.file, o.file);
    write_out(texts[0]);
}

int run(const loggp_options& o) {
    mpi::check(MPI_Init(nullptr, nullptr), "MPI_Init");
    int me = 0;
    int ranks = 1;
    mpi::check(MPI_Comm_rank(MPI_COMM_WORLD, &me), "MPI_Comm_rank");
    mpi::check(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "MPI_Comm_size");
    bool together = true;  // errors so far are found by all ranks
    int status = 0;
    try {
        const mpi::measure_settings how = settings_of(o, ranks);
        check_everywhere(o, me);
        together = false;
        measure(o, how, me, ranks);
    } catch (const std::exception& e) {
        if (me == 0 || !together) fmt::print(stderr, "rubato: {}\n", e.what());
        status = 2;
        if (!together) MPI_Abort(MPI_COMM_WORLD, status);
    }
    mpi::check(MPI_Finalize(), "MPI_Finalize");
    return status;
}

}  // namespace

void add_loggp(CLI::App& command, int& status) {
    auto o = std::make_shared<loggp_options>();
    CLI::App& sub = *command.add_subcommand("loggp", "measure the network between two ranks, as a cost model");
    sub.add_option("--ranks", o->ranks, "the two ranks; the clock is the first one's (default: 0,1)")->type_name("N,N");
    sub.add_option("--max-bytes", o->max_bytes, "the largest message (default: 1MiB)")->type_name("SIZE");
    sub.add_option("--seconds", o->seconds, "about how long it may take (default: 10)")->type_name("TIME");
    sub.add_option("-o,--output", o->file, "write the model to a file, for --model file:FILE")->type_name("FILE");
    sub.add_flag("--json", o->json, "print an object with all message sizes");
    sub.footer(
        "Start it with mpirun, on two hosts or more. With three ranks or more it also measures f, the number of small\n"
        "messages that leave before the gap counts, and o of one message and of each of several, by messages to 1, 2,\n"
        "... ranks and back (II.2.3); then the other ranks sleep.\n"
        "L, o, g and G come from round trips PRTT(n,d,s) of n <= 16 messages (Hoefler 2008, II.2.4). If one line does\n"
        "not fit all sizes, ranges of sizes have their own o, g and G. The model takes g and G of the range that "
        "holds\n"
        "4 KiB to 64 KiB, the size of segments. Spread: for measured times, from the 10 % quantile (the value) to the\n"
        "median; for fitted times, the standard error.\n"
        "The file has several models: file:FILE is LogGP, file:FILE,logfgp has f and the bounds of o, "
        "file:FILE,hockney\n"
        "is the linear one (alpha, beta, gamma).\n"
        "Its last line is a checksum: a file that was cut or changed is refused. To edit it, remove its first and "
        "last\n"
        "line.\n"
        "Examples:\n"
        "  mpirun -n 2 rubato loggp\n"
        "  mpirun -n 2 --host a,b rubato loggp -o cluster.model\n"
        "  rubato sim reduce --ranks 16 --bytes 1MiB --model file:cluster.model\n"
        "  mpirun -n 4 rubato loggp --ranks 0,3 --max-bytes 4MiB --seconds 20 --json");
    sub.callback([o, &status] { status = run(*o); });
}

}  // namespace rubato::cli
