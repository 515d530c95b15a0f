import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PackageIn } from './package-in.ts';

const LICENCE = /^(licen[cs]e|copying|notice)/i;

async function textOf({ folder }: PackageIn): Promise<readonly [name: string, text: string]> {
  const { name, version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    readonly name: string;
    readonly version: string;
    readonly license?: string;
  };
  const files = (await readdir(folder)).filter((file) => LICENCE.test(file)).sort();
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  const heading = `${name} ${version} (${license ?? 'no licence'})`;
  return [heading, [heading, '='.repeat(heading.length), ...texts.map((text) => text.trim())].join('\n\n')];
}

/**
 * Returns the licenses of all third-party packages in a program, sorted by name. License terms require that each copy
 * of the program contains these texts.
 */
export async function licenceTexts(packages: readonly PackageIn[]): Promise<string> {
  const texts = new Map(await Promise.all(packages.map(textOf)));
  return `${[...texts.keys()]
    .sort()
    .map((heading) => texts.get(heading))
    .join('\n\n\n')}\n`;
}
