import { type Command, Option } from 'commander';
import { UserError } from '../command/errors.ts';
import { DEFAULT_DATA_DIR } from '../command/surroundings.ts';
import { OUTPUT_FORMATS, type OutputFormat } from '../output/format.ts';
import type { ClusterFlags } from './cluster.ts';

/** Adds the flags that say which cluster a command talks to. */
export const withCluster = (command: Command): Command =>
  command
    .option(
      '--kubeconfig <file>',
      'cluster of the machine objects (default: $KUBECONFIG, else the local instance, else ~/.kube/config)',
    )
    .option('--target-kubeconfig <file>', 'cluster of the nodes (default: the same)')
    .option('--context <name>', 'context of the kubeconfig (default: its current one)')
    .option('-n, --namespace <name>', 'namespace of the machine objects (default: that of the context, else default)')
    .option('--data-dir <dir>', 'where a local instance keeps its kubeconfig', DEFAULT_DATA_DIR);

/** Adds the flag that says how to print. */
export const withOutput = (command: Command): Command =>
  command.addOption(
    new Option('-o, --output <format>', 'how to print').choices(OUTPUT_FORMATS).default('text' satisfies OutputFormat),
  );

/** What most commands are asked with. */
export type AskFlags = ClusterFlags & { readonly output: OutputFormat };

const KINDS: Readonly<Record<string, readonly string[]>> = {
  MachineDeployment: ['machinedeployment', 'machinedeployments', 'mcd', 'machdeploy'],
  MachineSet: ['machineset', 'machinesets', 'mcs', 'machset'],
  Machine: ['machine', 'machines', 'mc', 'mach'],
  MachineClass: ['machineclass', 'machineclasses', 'mcc', 'machcls'],
  Node: ['node', 'nodes', 'no'],
};

/** An object as a user names it; `kind` is undefined for a bare name. */
export interface Reference {
  readonly kind: string | undefined;
  readonly name: string;
}

/** Reads `KIND/NAME`, with the kind's short forms, or `NAME`. Throws `UserError` for a kind that is not ours. */
export function reference(text: string): Reference {
  const slash = text.indexOf('/');
  const name = text.slice(slash + 1);
  if (name === '') throw new UserError(`"${text}" names nothing; write KIND/NAME`);
  if (slash < 0) return { kind: undefined, name };
  const word = text.slice(0, slash).toLowerCase().split('.')[0] ?? '';
  const kind = Object.keys(KINDS).find((candidate) => KINDS[candidate]?.includes(word));
  if (kind !== undefined) return { kind, name };
  throw new UserError(
    `"${text}" is of no kind known here; write one of ${Object.keys(KINDS).join(', ').toLowerCase()}`,
  );
}

/** The name in `KIND/NAME` or `NAME` of an object of one kind. Throws `UserError` for another kind. */
export function nameOf(wanted: keyof typeof KINDS, text: string): string {
  const word = String(wanted).toLowerCase();
  const { kind, name } = reference(text);
  if (kind === undefined || kind === wanted) return name;
  throw new UserError(`"${text}" is no ${word}; write ${word}/NAME or NAME`);
}
