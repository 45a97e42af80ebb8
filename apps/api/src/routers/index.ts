import { router } from '../http/trpc.ts'
import { alertsRouter } from './alerts.ts'
import { auditRouter } from './audit.ts'
import { channelsRouter } from './channels.ts'
import { devicesRouter } from './devices.ts'
import { healthRouter } from './health.ts'
import { jobsRouter } from './jobs.ts'
import { operationsRouter } from './operations.ts'
import { pairingsRouter } from './pairings.ts'
import { queuesRouter } from './queues.ts'
import { schedulesRouter } from './schedules.ts'
import { settingsRouter } from './settings.ts'
import { tokensRouter } from './tokens.ts'
import { topicsRouter } from './topics.ts'
import { workersRouter } from './workers.ts'

export const appRouter = router({
  jobs: jobsRouter,
  operations: operationsRouter,
  queues: queuesRouter,
  workers: workersRouter,
  topics: topicsRouter,
  schedules: schedulesRouter,
  tokens: tokensRouter,
  devices: devicesRouter,
  pairings: pairingsRouter,
  alerts: alertsRouter,
  channels: channelsRouter,
  audit: auditRouter,
  settings: settingsRouter,
  health: healthRouter,
})

export type AppRouter = typeof appRouter
