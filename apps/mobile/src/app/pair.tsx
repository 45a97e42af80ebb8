export { PairScreen as default } from '../features/sign-in/pair-screen.tsx'
