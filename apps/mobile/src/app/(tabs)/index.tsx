export { NowScreen as default } from '../../features/now/now-screen.tsx'
