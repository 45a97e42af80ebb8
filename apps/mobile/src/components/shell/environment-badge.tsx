import { useSignedIn } from '../../lib/session.ts'
import { useHealth } from '../../lib/use-health.ts'
import type { Tone } from '../../theme/tokens.ts'
import { Badge } from '../ui/badge.tsx'

/** The environment's name, in a colour that says how careful to be. */
export function EnvironmentBadge() {
  const { server } = useSignedIn()
  const { data } = useHealth()
  const environment = data?.environment ?? null
  return (
    <Badge
      label={environment === null ? server.name : environment.toUpperCase()}
      tone={toneOfEnvironment(environment)}
      wraps
    />
  )
}

/** In production, actions on jobs are confirmed by holding the button. */
export function isProduction(environment: string | null): boolean {
  return environment !== null && /^prod/i.test(environment)
}

function toneOfEnvironment(environment: string | null): Tone {
  if (isProduction(environment)) return 'bad'
  if (environment !== null && /^stag/i.test(environment)) return 'warn'
  return 'accent'
}
