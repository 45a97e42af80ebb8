import { Component, type ReactNode } from 'react'
import { ErrorState } from '../ui/error-state.tsx'

/** An error boundary for each screen: the rest of the app keeps working, and the screen can be retried. */
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
