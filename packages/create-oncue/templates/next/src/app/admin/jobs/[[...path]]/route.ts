import { admin } from '../../../../admin.ts'
import { personOf } from '../../../../person.ts'

const SIGN_IN = { status: 401, headers: { 'www-authenticate': 'Basic realm="Jobs"' } }

export const dynamic = 'force-dynamic'
export const GET = (request: Request) =>
  personOf(request) ? admin.fetch(request) : new Response('Sign in', SIGN_IN)
export const POST = GET
export const DELETE = GET
