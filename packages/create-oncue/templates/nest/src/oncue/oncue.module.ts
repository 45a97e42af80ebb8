import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common'
import { createQueue, migrate, openStore, type Queue, type Store } from 'oncue'
import { jobs } from '../jobs.js'

/** A Postgres or SQLite database. */
export const DATABASE_URL = Symbol('DATABASE_URL')
/** Jobs are enqueued here: `@Inject(QUEUE) queue: JobQueue`. */
export const QUEUE = Symbol('QUEUE')
export const STORE = Symbol('STORE')

export type JobQueue = Queue<typeof jobs>

async function open(url: string): Promise<Store> {
  await migrate(url)
  return openStore(url)
}

/** The database, and the queue in it, for all modules. */
@Global()
@Module({
  providers: [
    { provide: DATABASE_URL, useFactory: () => process.env.DATABASE_URL ?? 'file:./.oncue/oncue.db' },
    { provide: STORE, useFactory: open, inject: [DATABASE_URL] },
    { provide: QUEUE, useFactory: (store: Store) => createQueue({ store, jobs }), inject: [STORE] },
  ],
  exports: [DATABASE_URL, STORE, QUEUE],
})
export class OncueModule implements OnApplicationShutdown {
  constructor(@Inject(STORE) private readonly store: Store) {}

  /** The modules that import this one have stopped before. */
  async onApplicationShutdown(): Promise<void> {
    await this.store.close()
  }
}
