import { Inject, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common'
import { createLogger, defineWorkers, type RunningWorker, type Store, startWorker } from 'oncue'
import { jobs } from '../jobs.js'
import { Mailer } from '../users/mailer.js'
import { OncueModule, STORE } from './oncue.module.js'

/** What runs the jobs, with the providers of this module. */
@Module({ imports: [OncueModule], providers: [Mailer] })
export class WorkerModule implements OnApplicationBootstrap, OnApplicationShutdown {
  private worker: RunningWorker | undefined

  constructor(
    @Inject(STORE) private readonly store: Store,
    private readonly mailer: Mailer,
  ) {}

  private readonly workers = defineWorkers(jobs, {
    send_welcome: async ({ payload }) => {
      // An error is retried later; a PermanentError is not.
      await this.mailer.sendWelcome(payload.email)
      return { sentTo: payload.email }
    },
  })

  async onApplicationBootstrap(): Promise<void> {
    this.worker = await startWorker({ store: this.store, workers: this.workers, log: createLogger() })
  }

  /** Takes no more jobs, and waits for those that run. */
  async onApplicationShutdown(): Promise<void> {
    await this.worker?.stop()
  }
}
