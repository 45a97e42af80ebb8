import { query, router } from '../http/trpc.ts'
import * as topics from '../procedures/topics.ts'

export const topicsRouter = router({ list: query(topics.list) })
