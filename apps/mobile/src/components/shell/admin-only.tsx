import type { ReactNode } from 'react'
import { useSignedIn } from '../../lib/session.ts'
import { EmptyState } from '../ui/empty-state.tsx'

export interface AdminOnlyProps {
  /** "Tokens are". */
  readonly what: string
  readonly children: ReactNode
}

/** Content that only admins may read. Others see why it is hidden. */
export function AdminOnly({ what, children }: AdminOnlyProps) {
  const { me } = useSignedIn()
  if (!me || me.may.includes('admin')) return children
  return (
    <EmptyState
      icon="lock"
      title="No access"
      text={`${what} visible to admins. Your role is ${me.role ?? 'none'}.`}
    />
  )
}
