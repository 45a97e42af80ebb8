import { sql } from 'drizzle-orm'
import { Hono } from 'hono'
import { fromDrizzle, type Queue } from 'oncue'
import { z } from 'zod'
import type { Database } from './db/client.ts'
import { users } from './db/schema.ts'
import type { jobs } from './jobs.ts'

const newUserSchema = z.object({ email: z.email() })

export function createApp(db: Database, queue: Queue<typeof jobs>): Hono {
  const app = new Hono()
  app.post('/users', async (c) => {
    const parsed = newUserSchema.safeParse(await c.req.json().catch(() => null))
    if (!parsed.success) return c.json({ error: z.prettifyError(parsed.error) }, 400)
    // Both or neither: the job exists once the row does.
    const user = await db.transaction(async (tx) => {
      const [created] = await tx.insert(users).values(parsed.data).onConflictDoNothing().returning()
      if (created) await queue.enqueue('send_welcome', { userId: created.id }, { tx: fromDrizzle(tx, sql) })
      return created
    })
    return user ? c.json(user, 201) : c.json({ error: 'This address is in use' }, 409)
  })
  return app
}
