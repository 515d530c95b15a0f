import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';

export function addProvider(program: Command, say: (line: string) => void): void {
  program
    .command('provider')
    .description('commands for developers of providers')
    .command('new')
    .description('create a package for another cloud, with a driver, a test, a conformance run and a CI configuration')
    .argument('<name>', 'name of the provider, such as hetzner')
    .action(async (name: string) => {
      const [{ newProvider }, { installSteps }] = await Promise.all([import('./new.ts'), import('./install-steps.ts')]);
      const files = await newProvider(name, process.cwd());
      for (const path of files) say(`${name}/${path}`);
      say('\nNext:');
      for (const step of [`cd ${name}`, ...installSteps(fileURLToPath(import.meta.url)), 'npm run conformance'])
        say(`  ${step}`);
    });
}
