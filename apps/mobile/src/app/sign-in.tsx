import { SignInScreen } from '../features/sign-in/sign-in-screen.tsx'

/** For adding another server. Without any session, the gate shows the same form in place of every screen. */
export default function SignInRoute() {
  return <SignInScreen why={null} />
}
