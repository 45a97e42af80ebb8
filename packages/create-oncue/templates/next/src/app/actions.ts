'use server'

import { redirect } from 'next/navigation'
import { getQueue } from '../queue.ts'

/** The form of the page. */
export async function signUp(form: FormData): Promise<void> {
  const queue = await getQueue()
  const id = await queue.enqueue('send_welcome', { email: String(form.get('email')) })
  redirect(`/?job=${id}`)
}
