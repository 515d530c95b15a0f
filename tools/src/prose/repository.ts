import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { readSources } from '../structure/sources.ts';
import { textsOfPage } from './pages.ts';
import type { Phrases } from './rules.ts';
import { type Text, textsOf, textsOfYaml } from './texts.ts';

/** Matches files that are not checked: recordings of other programs, and generated files whose sources are checked. */
const SKIPPED = /(^|\/)(generated|testdata|crds)\/|(CHANGELOG\.md|crds\.yaml)$/;

/**
 * Files with messages of other programs word for word: kube-apiserver, OpenShift, the original drivers, and the clouds
 * that the emulators replace. Recordings and clients compare these messages, so this check ignores the messages of these
 * files. The check still reads comments and titles in these files.
 */
const VERBATIM = new RegExp(
  [
    '^packages/control-plane/src/(admission|apimachinery|auth|controllers|crd|kinds|openapi|patch|registry|resources|schema)/',
    '^packages/control-plane/src/(selectors|table|certificates/(der-reader|signer|signing-request|strategy)\\.ts$)',
    '^packages/control-plane/src/server/(request-body|view)\\.ts$',
    '^packages/machine-config/src/(ignition/|config/reconcile\\.ts$|kubelet/validate\\.ts$)',
    '^providers/(aws|azure|gcp)/src/driver/validate\\.ts$',
    '^apps/cloud-emulators/src/(arm|ec2|gce)/',
  ].join('|'),
);

/** Files whose strings are code: completion scripts of shells, and the replacements of mutants. */
const CODE_FILES = /^apps\/mcm\/src\/completion\/(completion|kubectl)\.ts$|^e2e\/src\/simulation\/mutation\/list\.ts$/;

/** Files with comments in the format of YAML and shells, but without the templates of machine configs. */
const COMMENTED = ['*.yaml', ':!apps/machine-config-controller/templates', 'deploy/Dockerfile', '.ci/run', 'mcm'];

/** Returns the prose of each file in git below `root`: Markdown pages, TypeScript files, manifests and scripts. */
export function textsByFile(root: string): Map<string, Text[]> {
  const texts = new Map<string, Text[]>();
  for (const source of readSources(root)) {
    if (SKIPPED.test(source.path)) continue;
    const own = textsOf(source);
    const isIgnored = VERBATIM.test(source.path) || CODE_FILES.test(source.path);
    texts.set(source.path, isIgnored ? own.filter(({ kind }) => kind !== 'message') : own);
  }
  const read = (path: string): string => readFileSync(join(root, path), 'utf8');
  for (const path of tracked(root, ['*.md'])) texts.set(path, textsOfPage(read(path)));
  for (const path of tracked(root, COMMENTED)) texts.set(path, textsOfYaml(read(path)));
  return texts;
}

/** Returns the list of removed phrases. Throws an Error if the file is not a map from phrases to advice. */
export function readPhrases(): Phrases {
  return z.record(z.string(), z.string()).parse(parse(readFileSync(new URL('words.yaml', import.meta.url), 'utf8')));
}

function tracked(root: string, patterns: readonly string[]): string[] {
  const listed = execFileSync('git', ['ls-files', '-z', ...patterns], { cwd: root, encoding: 'utf8' });
  return listed.split('\0').filter((path) => path !== '' && !SKIPPED.test(path));
}
