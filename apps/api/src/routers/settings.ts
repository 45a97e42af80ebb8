import { mutation, query, router } from '../http/trpc.ts'
import * as settings from '../procedures/settings.ts'

export const settingsRouter = router({ get: query(settings.get), set: mutation(settings.set) })
