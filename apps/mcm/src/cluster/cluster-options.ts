import { type Command, Option } from 'commander';
import { DEFAULT_DATA_DIR } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import { OUTPUT_FORMATS, type OutputFormat } from '../output/format.ts';
import type { ClusterFlags } from './cluster.ts';

export const withCluster = (command: Command): Command =>
  command
    .option(
      '--kubeconfig <file>',
      'kubeconfig of the cluster with the machine objects (default: $KUBECONFIG, then the local instance, then ~/.kube/config)',
    )
    .option(
      '--target-kubeconfig <file>',
      'kubeconfig of the cluster with the nodes (default: the cluster with the machine objects)',
    )
    .option('--context <name>', 'context of the kubeconfig (default: the current context)')
    .option(
      '-n, --namespace <name>',
      'namespace of the machine objects (default: the namespace of the context, or "default")',
    )
    .option('--data-dir <dir>', 'directory of the local instance, with its kubeconfig', DEFAULT_DATA_DIR);

export const withFleetCluster = (command: Command): Command =>
  command.option(
    '--cluster <name>',
    'cluster of the fleet, by the name of its namespace, Cluster or ClusterProfile; mcm reads the kubeconfig from the seed',
  );

/** Splits an argument `CLUSTER/TYPE/NAME` into the cluster and `TYPE/NAME`. */
export function inFleetCluster(text: string): { readonly cluster: string; readonly object: string } | undefined {
  const [cluster = '', type = '', name = '', ...more] = text.split('/');
  if (cluster === '' || name === '' || more.length > 0) return undefined;
  return { cluster, object: `${type}/${name}` };
}

export const withSelector = (command: Command, of: string): Command =>
  command.option('-l, --selector <selector>', `only ${of} with the given labels, such as app=web,tier!=test`);

export const withAllNamespaces = (command: Command): Command =>
  command.option('-A, --all-namespaces', 'use all namespaces');

export const withWatch = (command: Command): Command =>
  command.option('-w, --watch', 'print the output again after each change, until Ctrl-C');

export const withOutput = (command: Command): Command =>
  command.addOption(
    new Option('-o, --output <format>', 'output format').choices(OUTPUT_FORMATS).default('text' satisfies OutputFormat),
  );

export type AskFlags = ClusterFlags & { readonly output: OutputFormat };

const KINDS: Readonly<Record<string, readonly string[]>> = {
  MachineDeployment: ['machinedeployment', 'machinedeployments', 'mcd', 'machdeploy'],
  MachineSet: ['machineset', 'machinesets', 'mcs', 'machset'],
  Machine: ['machine', 'machines', 'mc', 'mach'],
  MachineClass: ['machineclass', 'machineclasses', 'mcc', 'machcls'],
  Node: ['node', 'nodes', 'no'],
};

/** If the argument is only a name, `kind` is undefined. */
export interface Reference {
  readonly kind: string | undefined;
  readonly name: string;
}

/** Returns the kind with the given name, plural name or short name. */
export const kindOf = (word: string): string | undefined => {
  const short = word.toLowerCase().split('.')[0] ?? '';
  return [...Object.keys(KINDS), 'Pool'].find((kind) => (KINDS[kind] ?? POOL).includes(short));
};

const POOL: readonly string[] = ['pool', 'pools', 'machineconfigpool', 'machineconfigpools', 'mcp'];

/**
 * Joins the arguments `TYPE NAME` to `TYPE/NAME`.
 * @throws UserError if the arguments have any other form
 */
export function objectText(words: readonly string[]): string {
  const [first = '', name, ...more] = words;
  if (name === undefined) return first;
  if (more.length === 0) {
    if (kindOf(first) === undefined) throw unknownKind(words.join(' '));
    return `${first}/${name}`;
  }
  throw new UserError(`"${words.join(' ')}" is not the name of an object; write TYPE/NAME or TYPE NAME`);
}

/** @throws UserError if the kind is unknown */
export function reference(text: string): Reference {
  const slash = text.indexOf('/');
  const name = text.slice(slash + 1);
  if (name === '') throw new UserError(`"${text}" has no name; write KIND/NAME`);
  if (slash < 0) return { kind: undefined, name };
  const word = text.slice(0, slash).toLowerCase().split('.')[0] ?? '';
  const kind = Object.keys(KINDS).find((candidate) => KINDS[candidate]?.includes(word));
  if (kind !== undefined) return { kind, name };
  throw unknownKind(text);
}

const unknownKind = (text: string): UserError =>
  new UserError(`"${text}" has an unknown kind; write one of ${Object.keys(KINDS).join(', ').toLowerCase()}`);

/**
 * Returns the name in `KIND/NAME` or `NAME`, for a command that accepts only one kind.
 * @throws UserError if the argument contains another kind
 */
export function nameOf(wanted: keyof typeof KINDS, text: string): string {
  const word = String(wanted).toLowerCase();
  const { kind, name } = reference(text);
  if (kind === undefined || kind === wanted) return name;
  throw new UserError(`"${text}" is not a ${word}; write ${word}/NAME or NAME`);
}
