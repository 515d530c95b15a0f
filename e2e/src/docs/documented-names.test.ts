import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Annotations, Labels } from '@mcm/api';
import { HOOK_STAGES, machineFlags } from '@mcm/core';
import { commonFlags, type Flags } from '@mcm/kube';
import { machineConfigController } from '@mcm/machine-config-controller';
import { machineConfigDaemon } from '@mcm/machine-config-daemon';
import { machineControllerManager } from '@mcm/machine-controller-manager';
import { awsFlags } from '@mcm/provider-aws';
import { azureFlags } from '@mcm/provider-azure';
import { gcpFlags } from '@mcm/provider-gcp';
import { localFlags } from '@mcm/provider-local';
import { describe, expect, test } from 'vitest';
import { allKeys, keysIn, looseKeysIn } from './key-reference.ts';
import { ROOT, sourcesUnder, trackedFiles } from './sources.ts';

/**
 * The documentation must contain all labels, annotations and flags of the code, and the code must contain all names of
 * the documentation.
 */

const pages = trackedFiles('docs/*.md').map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
const documentation = pages.map(({ text }) => text).join('\n');
const sources = sourcesUnder('packages', 'apps', 'providers', 'tools')
  .map(({ text }) => text)
  .join('\n');

const OWN_KEY =
  /(?<![\w./-])(?:[a-z0-9-]+\.)*(?:machine\.sapcloud\.io|machineconfiguration\.openshift\.io)\/[\w.-]*\w/g;
/** Matches a label or annotation without a prefix, such as the label `force-drain: "True"`. */
const BARE_KEY = /\b(?:label|annotation)s?\s+`([a-z][\w-]*)(?:[:=][^`]*)?`/gi;
/** Returns true if the code contains the key, or a key with a prefix and this name. */
const isKeyInSources = (key: string): boolean =>
  [`'${key}'`, `/${key}'`, ` ${key}: `].some((form) => sources.includes(form));
const isApiVersion = (key: string): boolean => /\/v\d+(alpha|beta)?\d*$/.test(key);

/** Flags of other programs in the documentation: kubectl, kubelet, docker, aws, az, gcloud and Node.js. */
const FOREIGN = new Set([
  'access-key-id',
  'rawfile',
  'key-id',
  'field-selector',
  'min-available',
  'all-containers',
  'all-namespaces',
  'arg',
  'bootstrap-kubeconfig',
  'build-arg',
  'cloud-config',
  'clusterrole',
  'from-file',
  'from-literal',
  'hostname-override',
  'iam-account',
  'ignore-missing',
  'ignore-not-found',
  'max-maglev-optimized-bytecode-size',
  'non-resource-url',
  'resource-group',
  'resource-id',
  'reuse-values',
  'sort-by',
  'patch-file',
  'user-name',
  'approve',
  'role-only',
  'role-name',
  'attach-policy-arn',
  'cluster-name',
  'principal-arn',
  'role-arn',
  'enable-oidc-issuer',
  'enable-workload-identity',
  'identity-name',
]);
/** Matches a flag that does not follow a word character or a dash. */
const FLAG = /(?<![\w-])--([a-z][a-z0-9-]*[a-z0-9])/g;

const BINARY_FLAGS: Readonly<Record<string, Flags>> = {
  common: commonFlags(machineControllerManager.defaults),
  'machine-controller-manager': machineControllerManager.flags,
  'machine-controller': machineFlags,
  'machine-config-controller': machineConfigController.flags,
  'machine-config-daemon': machineConfigDaemon.flags,
  aws: awsFlags,
  azure: azureFlags,
  gcp: gcpFlags,
  local: localFlags,
};

/** Returns true if a key is the annotation of a hook. */
const isHook = (key: string): boolean =>
  HOOK_STAGES.some((stage) => key.startsWith(`${stage}.${Annotations.HookSuffix}/`));

/** Returns true if the code contains a name: as a key of an object, as a text, or as an option of a command. */
const isInSources = (name: string): boolean =>
  [`'${name}'`, `--${name}`, `'${name} `, ` ${name}: `].some((form) => sources.includes(form));

describe('labels and annotations', () => {
  test('every key of this project in the documentation is in the code', () => {
    const unknown = pages.flatMap(({ path, text }) =>
      [...text.matchAll(OWN_KEY)]
        .map(([key]) => key)
        .filter((key) => !isApiVersion(key) && !isHook(key) && !sources.includes(key))
        .map((key) => `${path}: ${key}`),
    );
    expect(unknown).toEqual([]);
  });

  test('every key without a prefix in the documentation is in the code', () => {
    const named = pages.flatMap(({ path, text }) =>
      [...text.matchAll(BARE_KEY)].map(([, key = '']) => ({ path, key })),
    );
    // Searches the sources once for each key, because many pages name the same keys.
    const known = new Set([...new Set(named.map(({ key }) => key))].filter(isKeyInSources));
    expect(named.filter(({ key }) => !known.has(key))).toEqual([]);
  });

  test('every key in the code is in the documentation', () => {
    const keys = [...Object.values(Labels), ...Object.values(Annotations), ...allKeys().map(({ key }) => key)];
    expect(keys.length).toBeGreaterThan(80);
    expect(keys.filter((key) => !documentation.includes(`\`${key}\``))).toEqual([]);
  });

  test('every key that the code uses outside of a group of constants is in the documentation', () => {
    const own = sourcesUnder('packages', 'apps', 'providers').filter(
      ({ path }) => !/\/(?:control-plane|testing|simulation)\//.test(path),
    );
    const known = new Set(allKeys().map(({ key }) => key));
    const loose = own.flatMap(({ path, text }) => looseKeysIn(text).map((key) => ({ path, key })));
    expect(loose.filter(({ key }) => !known.has(key))).toEqual([]);
    const text = ["const DRAIN = 'fleet-drain';", "lease.annotations?.[DRAIN]; node.labels['kubernetes.io/os'];"].join(
      '\n',
    );
    expect(looseKeysIn(text)).toEqual(['fleet-drain']);
  });

  test('the constants are read with their comments, and other values are left out', () => {
    const text = [
      ...['export const Labels = {', '  /** On a Node,', '   * see {@link Labels.Zone}. */', "  Node: 'node',"],
      ...["  Zone: 'zone',", '} as const;', "export const Values = { Now: 'now' } as const;"],
    ].join('\n');
    expect(keysIn(text)).toEqual([
      { key: 'node', means: 'On a Node, see `Zone`.' },
      { key: 'zone', means: '' },
    ]);
  });
});

describe('flags', () => {
  test('every flag in the documentation is in the code, or belongs to another program', () => {
    const named = pages.map(({ path, text }) => ({
      path,
      names: [...text.matchAll(FLAG)].map(([, name = '']) => name),
    }));
    // Searches the sources once for each flag, because many pages name the same flags.
    const known = new Set([...new Set(named.flatMap(({ names }) => names))].filter(isInSources));
    const unknown = named.flatMap(({ path, names }) =>
      names.filter((name) => !FOREIGN.has(name) && !known.has(name)).map((name) => `${path}: --${name}`),
    );
    expect(unknown).toEqual([]);
  });

  test.each(Object.entries(BINARY_FLAGS))('every flag of %s is in the documentation', (_, flags) => {
    const names = Object.entries(flags).flatMap(([name, { deprecated = {} }]) => [name, ...Object.keys(deprecated)]);
    expect(names.filter((name) => !documentation.includes(`--${name}`))).toEqual([]);
  });
});
