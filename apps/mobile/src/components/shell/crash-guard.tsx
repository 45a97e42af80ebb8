import { Component, type ReactNode } from 'react'
import { ErrorState } from '../ui/error-state.tsx'

/** A screen that breaks takes nothing else with it: the rest of the app stays, and it can be tried again. */
export class CrashGuard extends Component<{ readonly children: ReactNode }, { readonly error: unknown }> {
  override state = { error: null }

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (error === null) return this.props.children
    return <ErrorState error={error} onRetry={() => this.setState({ error: null })} />
  }
}
