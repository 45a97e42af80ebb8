import { openStore } from '@oncue/db'
import { openCommitService } from '@oncue/db/testing/commit-service'
import { silentLogger } from '@oncue/runtime'
import { until } from '@oncue/testing'
import { startWorker } from '../src/index.ts'
import { commitWorkers, URL_VARIABLE } from './commit-handlers.ts'

// A worker whose handlers write rows of their own with their outcomes; made to be killed.
const [url = '', aheadMs = '0', isolated = ''] = process.argv.slice(2)

const isIsolated = isolated !== ''
// biome-ignore lint/style/noProcessEnv: of its child processes.
process.env[URL_VARIABLE] = url
const service = openCommitService(url)
const clock = () => new Date(Date.now() + Number(aheadMs))
const store = await openStore(url, aheadMs === '0' ? {} : { clock })
await startWorker({
  store,
  workers: commitWorkers(url, { isIsolated }).workers,
  modules: [new URL('./commit-handlers-module.ts', import.meta.url).href],
  concurrency: 5,
  pollMs: 50,
  lease: 'inline',
  maintenance: false,
  log: silentLogger,
})
process.on('disconnect', () => process.exit())
if (isIsolated) {
  // Its first child process takes long to start.
  const before = await service.count()
  await until(async () => (await service.count()) > before)
}
process.send?.('ready')
