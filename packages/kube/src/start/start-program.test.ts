import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { oldNode } from './start-program.ts';

test.each(['20.20.2', '22.18.9', '18.0.0', '9.11.2'])('Node.js %s is too old', (version) => {
  expect(oldNode('mcm', version)).toBe(
    `mcm requires Node.js 22.19 or newer, but this is Node.js ${version}: install a newer Node.js`,
  );
});

test.each(['22.19.0', '22.20.1', '23.0.0', '24.21.0', '100.0.0'])('Node.js %s is supported', (version) => {
  expect(oldNode('mcm', version)).toBeUndefined();
});

test('the oldest version is the one that the package requires', () => {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly engines: { readonly node: string };
  };
  expect(manifest.engines.node).toBe('>=22.19.0');
});

test('a program runs without the Maglev compiler, which can prevent its exit', () => {
  const module = new URL('./start-program.ts', import.meta.url).href;
  const program = `
    import { startProgram } from '${module}';
    const add = (a, b) => a + b;
    startProgram('sum', async () => { let sum = 0; for (let i = 0; i < 1e7; i++) sum = add(sum, i); console.log(sum); });`;
  const { stdout } = spawnSync(process.execPath, ['--trace-opt', '--input-type=module', '--eval', program], {
    encoding: 'utf8',
  });
  expect(stdout).toContain('TURBOFAN');
  expect(stdout).not.toContain('MAGLEV');
});
