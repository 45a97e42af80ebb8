/** Reports how much CPU this process has used, in microseconds, whenever it is asked. */
export function reportCpu(): void {
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.({ cpu: user + system })
  })
}
