import { workerData } from 'node:worker_threads'

/** An orphan has another parent. What it does is done again elsewhere by now. */
setInterval(() => {
  if (process.ppid !== workerData) process.kill(process.pid, 'SIGKILL')
}, 1_000)
