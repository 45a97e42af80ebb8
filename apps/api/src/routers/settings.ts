import * as settings from '../operations/settings.ts'
import { mutation, query, router } from '../trpc.ts'

export const settingsRouter = router({ get: query(settings.get), set: mutation(settings.set) })
