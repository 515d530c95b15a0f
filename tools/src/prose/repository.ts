import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { readSources } from '../structure/sources.ts';
import { textsOfPage } from './pages.ts';
import type { Phrases } from './rules.ts';
import { type Text, textsOf, textsOfYaml } from './texts.ts';

/** Recordings of other programs, and generated files whose sources are checked. */
const SKIPPED = /(^|\/)(generated|testdata|crds)\/|(CHANGELOG\.md|crds\.yaml)$/;

/**
 * Files that contain messages of kube-apiserver word for word. `pnpm battery` compares them with recordings, so this check
 * ignores them. The check still reads comments and titles in these files.
 */
const VERBATIM =
  /^packages\/control-plane\/src\/(admission|apimachinery|auth|controllers|crd|kinds|patch|registry|resources|schema|table)\/|^packages\/control-plane\/src\/server\/request-body\.ts$/;

/** Returns the prose of each file in git below `root`: Markdown pages, TypeScript files, and manifests of deploy/. */
export function textsByFile(root: string): Map<string, Text[]> {
  const texts = new Map<string, Text[]>();
  for (const source of readSources(root)) {
    if (SKIPPED.test(source.path)) continue;
    const own = textsOf(source);
    texts.set(source.path, VERBATIM.test(source.path) ? own.filter(({ kind }) => kind !== 'message') : own);
  }
  for (const path of tracked(root, '*.md')) texts.set(path, textsOfPage(readFileSync(join(root, path), 'utf8')));
  for (const path of tracked(root, 'deploy/*.yaml'))
    texts.set(path, textsOfYaml(readFileSync(join(root, path), 'utf8')));
  return texts;
}

/** Returns the list of removed phrases. Throws an Error if the file is not a map from phrases to advice. */
export function readPhrases(): Phrases {
  return z.record(z.string(), z.string()).parse(parse(readFileSync(new URL('words.yaml', import.meta.url), 'utf8')));
}

function tracked(root: string, pattern: string): string[] {
  const listed = execFileSync('git', ['ls-files', '-z', pattern], { cwd: root, encoding: 'utf8' });
  return listed.split('\0').filter((path) => path !== '' && !SKIPPED.test(path));
}
