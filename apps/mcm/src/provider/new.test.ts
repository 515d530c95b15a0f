import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { newProvider } from './new.ts';

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});
async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'provider-new-'));
  folders.push(made);
  return made;
}

test('the package is complete and does not contain the name of the example', async () => {
  const parent = await folder();
  const files = await newProvider('hetzner-cloud', parent);
  expect([...files].sort()).toEqual([
    '.github/workflows/ci.yaml',
    '.gitignore',
    'README.md',
    'conformance.yaml',
    'package.json',
    'src/cloud.ts',
    'src/driver.test.ts',
    'src/driver.ts',
    'src/main.ts',
    'tsconfig.json',
  ]);
  const texts = await Promise.all(files.map((path) => readFile(join(parent, 'hetzner-cloud', path), 'utf8')));
  for (const text of texts) expect(text).not.toMatch(/toy(?!s)/i);
  const config = texts[files.indexOf('conformance.yaml')];
  expect(config).toContain('# mcm-conformance --driver src/driver.ts --config conformance.yaml\n');
  const driver = texts[files.indexOf('src/driver.ts')];
  expect(driver).toContain("import { openHetznerCloudCloud } from './cloud.ts';");
  expect(driver).toContain("name: 'hetzner-cloud'");
  expect(driver).toContain("const PREFIX = 'hetzner-cloud:///'");
});

test.each(['', 'Hetzner', '9x', 'a_b', 'a--b', '../x', 'x'.repeat(31)])('%j is not a valid name', async (name) => {
  await expect(newProvider(name, await folder())).rejects.toThrow(/is not a valid name. Use up to 30 lower-case/);
});

test('a folder with files is not changed', async () => {
  const parent = await folder();
  await writeFile(join(parent, 'mine'), 'text');
  await expect(newProvider('mine', parent)).rejects.toThrow(/exists and is not empty/);
  expect(await readFile(join(parent, 'mine'), 'utf8')).toBe('text');
});
