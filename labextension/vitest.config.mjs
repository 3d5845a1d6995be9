import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    environment: 'happy-dom',
    include: ['test/**/*.test.{ts,tsx}'],
    testTimeout: 60_000 // whatever else the machine does meanwhile
  }
});
