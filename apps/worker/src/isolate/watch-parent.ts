import { workerData } from 'node:worker_threads'
import { systemRuntime } from '@oncue/runtime'

/** An orphan has another parent. Its run has been taken over by another worker. */
systemRuntime.every(1_000, () => {
  if (process.ppid !== workerData) process.kill(process.pid, 'SIGKILL')
})
