import { Logger, run } from 'graphile-worker'
import { GRAPHILE_SETTINGS } from '../peers/graphile-settings.ts'
import { type Start, TOPIC } from './contender.ts'

export const startGraphile: Start = async (url, ran) => {
  const runner = await run({
    preset: {
      worker: {
        connectionString: url,
        ...GRAPHILE_SETTINGS,
        logger: new Logger(() => () => {}),
      },
    },
    taskList: { [TOPIC]: async () => ran() },
    noHandleSignals: true,
  })
  return { stop: () => runner.stop() }
}
