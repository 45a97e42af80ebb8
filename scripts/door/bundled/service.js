// A service that migrates, enqueues and works. Prints what became of its jobs.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createQueue, migrate, openStore, silentLogger, startWorker } from 'oncue'
import { jobs, workers } from './jobs.js'

async function main([databaseUrl, handlers]) {
  await migrate(databaseUrl)
  const store = await openStore(databaseUrl)
  const queue = createQueue({ store, jobs })
  const ids = [await queue.enqueue('greet', { name: 'bundle' }), await queue.enqueue('heavy', {})]
  const modules = [pathToFileURL(join(process.cwd(), handlers)).href]
  const worker = await startWorker({ store, workers, modules, log: silentLogger })
  await worker.drain()
  await worker.stop()
  const [greeted, heavy] = await Promise.all(ids.map((id) => store.get(id)))
  await store.close()
  const isApart = heavy.result !== null && heavy.result.pid !== process.pid
  process.stdout.write(
    `${greeted.result?.greeting}, ${isApart ? 'in a child process' : JSON.stringify(heavy)}`,
  )
}

main(process.argv.slice(2)).catch((error) => {
  process.stderr.write(`${error?.stack}\n`)
  process.exitCode = 1
})
