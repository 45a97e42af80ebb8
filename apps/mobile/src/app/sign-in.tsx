import { SignInScreen } from '../features/sign-in/sign-in-screen.tsx'

/** For one more server: who is not signed in at all gets the same in place of any screen. */
export default function SignInRoute() {
  return <SignInScreen why={null} />
}
