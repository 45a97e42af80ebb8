// In the published package a bundle stands here: see prisma/bundle-adapters.ts.
export { PrismaPg } from '@prisma/adapter-pg'
