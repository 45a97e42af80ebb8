export { TokensScreen as default } from '../features/tokens/tokens-screen.tsx'
