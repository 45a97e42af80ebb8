import { z } from 'zod'
import { getQueue } from '../../../queue.ts'

const newUserSchema = z.object({ email: z.email() })

/** Signs up, as the form of the page does. */
export async function POST(request: Request): Promise<Response> {
  const parsed = newUserSchema.safeParse(await request.json().catch(() => null))
  if (!parsed.success) return Response.json({ error: z.prettifyError(parsed.error) }, { status: 400 })
  const queue = await getQueue()
  const jobId = await queue.enqueue('send_welcome', parsed.data)
  return Response.json({ jobId }, { status: 202 })
}
