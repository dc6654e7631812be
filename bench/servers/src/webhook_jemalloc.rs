//! The same webhook with the allocator of the injector.

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[tokio::main]
async fn main() -> std::process::ExitCode {
    vestibule_command::run(bench_servers::app()).await
}
