import { router } from '../trpc.ts'
import { auditRouter } from './audit.ts'
import { devicesRouter } from './devices.ts'
import { healthRouter } from './health.ts'
import { jobsRouter } from './jobs.ts'
import { pairingsRouter } from './pairings.ts'
import { queuesRouter } from './queues.ts'
import { schedulesRouter } from './schedules.ts'
import { settingsRouter } from './settings.ts'
import { tokensRouter } from './tokens.ts'
import { topicsRouter } from './topics.ts'
import { workersRouter } from './workers.ts'

export const appRouter = router({
  jobs: jobsRouter,
  queues: queuesRouter,
  workers: workersRouter,
  topics: topicsRouter,
  schedules: schedulesRouter,
  tokens: tokensRouter,
  devices: devicesRouter,
  pairings: pairingsRouter,
  audit: auditRouter,
  settings: settingsRouter,
  health: healthRouter,
})

export type AppRouter = typeof appRouter
