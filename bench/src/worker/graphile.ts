import { Logger, run } from 'graphile-worker'
import { CONCURRENCY, type Start, TOPIC } from './contender.ts'

/** With the batching and the settings of its documentation on performance. */
export const startGraphile: Start = async (url, ran) => {
  const runner = await run({
    preset: {
      worker: {
        connectionString: url,
        concurrentJobs: CONCURRENCY,
        maxPoolSize: CONCURRENCY + 1,
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
        logger: new Logger(() => () => {}),
      },
    },
    taskList: { [TOPIC]: async () => ran() },
    noHandleSignals: true,
  })
  return { stop: () => runner.stop() }
}
