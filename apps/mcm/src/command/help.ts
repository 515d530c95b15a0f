import { reportRefusals } from '@mcm/kube/flags';
import { type Command, Help as Formatter } from 'commander';
import { columnsOf, wrappedText } from '../output/wrap.ts';
import { errorCodeOf, exitCodesOf } from './exit-codes.ts';

/** Content of `--help` in addition to arguments and flags. */
interface Help {
  /** Example commands, each with its description. */
  readonly examples: readonly (readonly [command: string, does: string])[];
}

/** By the words of the command. */
const HELP: Readonly<Record<string, Help>> = {
  up: {
    examples: [
      ['mcm up', 'a cluster and three machines; Ctrl-C stops them, the next start continues with them'],
      ['mcm up --provider aws --machines 5', 'the same on an emulator of EC2, with five machines'],
      ['mcm up --exit-when-ready', 'exit when all machines are ready'],
    ],
  },
  down: { examples: [['mcm down', 'stops the instance in .mcm']] },
  status: {
    examples: [
      ['mcm status', 'the status of the instance in .mcm'],
      ['mcm status -o json', 'the same as JSON'],
    ],
  },
  logs: {
    examples: [
      ['mcm logs --follow', 'the merged logs of all programs, until Ctrl-C'],
      ['mcm logs machine-controller-manager --level warn --tail 50', 'the last 50 warnings and errors of one program'],
      ['mcm logs --machine NAME -o json', 'the lines about one machine, one JSON object per line'],
    ],
  },
  'cloud list': { examples: [['mcm cloud list', 'the resources that the cloud of the local instance reports']] },
  'rollout status': {
    examples: [
      ['mcm rollout status workers', 'prints each change until the rollout is complete'],
      ['mcm rollout status workers --no-watch', 'prints the current state'],
    ],
  },
  'rollout pause': {
    examples: [['mcm rollout pause workers', 'machines are still scaled, but not replaced by new ones']],
  },
  'rollout resume': { examples: [['mcm rollout resume workers', 'continues the rollout']] },
  'rollout promote': {
    examples: [['mcm rollout promote workers', 'the rollout continues without waiting for its canaries']],
  },
  'rollout restart': {
    examples: [['mcm rollout restart workers', 'changes the template, so every machine is replaced']],
  },
  'rollout undo': {
    examples: [
      ['mcm rollout undo workers', 'to the previous revision'],
      ['mcm rollout undo workers --to-revision 3', 'to a revision of: mcm rollout history workers'],
    ],
  },
  'rollout history': {
    examples: [
      ['mcm rollout history workers', 'revisions with their sets, classes and machines'],
      ['mcm rollout history workers --revision 3', 'the template of one revision'],
    ],
  },
  explain: {
    examples: [
      ['mcm explain machinedeployment/workers', 'its next step, what it waits for, and hints'],
      ['mcm explain machine/NAME', 'its phase, deadline, drain, and the evidence of its failure'],
      ['mcm explain machine/NAME -o json', 'the same as JSON'],
    ],
  },
  drain: {
    examples: [['mcm drain --preview NAME', 'each pod of its node, and what would block it']],
  },
  plan: {
    examples: [
      ['mcm plan -f workers.yaml', 'machines in their order, the duration, and what blocks it'],
      ['mcm plan -f workers.yaml -o wide', 'also the reason for each step'],
      ['mcm plan -f workers.yaml --join-time 3m --drain-time 10m', 'with other estimates'],
    ],
  },
  tree: {
    examples: [
      ['mcm tree', 'all machine objects of the namespace'],
      ['mcm tree workers -o wide', 'one deployment, with classes, VMs and zones'],
      ['mcm tree --context prod -n machines', 'another context of the kubeconfig'],
    ],
  },
  events: {
    examples: [
      ['mcm events', 'events of all machines and their owners, oldest first'],
      ['mcm events machinedeployment/workers', 'events of a deployment, its sets and machines, also deleted ones'],
    ],
  },
  'debug bundle': {
    examples: [
      ['mcm debug bundle', 'writes to a new folder with the current time in its name'],
      ['mcm debug bundle /tmp/for-the-issue -n machines', 'writes to this new folder'],
    ],
  },
  completion: {
    examples: [
      ['source <(mcm completion bash)', 'for this shell'],
      ['mcm completion fish > ~/.config/fish/completions/mcm.fish', 'for all new shells'],
      [
        'mcm completion kubectl > kubectl_complete-mcm',
        'for kubectl mcm; make the file executable and put it into the PATH',
      ],
    ],
  },
  dashboard: {
    examples: [
      ['mcm dashboard', 'on a free port; prints its address'],
      ['mcm dashboard --port 8080 -n machines', 'on this port, for this namespace'],
    ],
  },
  install: {
    examples: [
      ['mcm install --dry-run --provider aws', 'prints all objects; needs no cluster'],
      ['mcm install --dry-run --provider aws -o json', 'prints them as one List'],
      ['mcm install --provider aws -n machines', 'applies them'],
    ],
  },
  'provider new': { examples: [['mcm provider new hetzner', 'a package in the folder hetzner']] },
  'config render': {
    examples: [['mcm config render pools/ --pool worker', 'the configuration that the nodes of one pool would get']],
  },
  'config diff': {
    examples: [
      ['mcm config diff pools/', 'compares with the cluster'],
      ['mcm config diff new/ --against old/', 'compares two directories, without a cluster'],
    ],
  },
  'config status': {
    examples: [['mcm config status -o wide', 'the progress of each pool, with the nodes that are not at the target']],
  },
  'config explain': { examples: [['mcm config explain pool/worker', 'the state of each node, with hints']] },
  version: { examples: [['mcm version', 'the version of this command']] },
};

/** The commands without subcommands, with their words. */
export function leavesOf(command: Command, path: readonly string[] = []): { path: string; command: Command }[] {
  const own = command.commands.filter((child) => child.name() !== 'help');
  if (own.length === 0) return [{ path: path.join(' '), command }];
  return own.flatMap((child) => leavesOf(child, [...path, child.name()]));
}

/** The example commands in the help of a command. */
export const examplesOf = (path: string): readonly string[] => HELP[path]?.examples.map(([command]) => command) ?? [];

/** The smallest width of a description next to its flag. */
const BESIDE = 40;

/** Configures a command, and the commands that are added later, so that a narrow terminal breaks no word of the help and of errors. */
export function forTerminals(command: Command): Command {
  return command
    .configureHelp({ minWidthToWrap: 20, formatItem, formatHelp })
    .configureOutput({ writeErr: (text) => process.stderr.write(wrappedText(text, columnsOf(process.stderr))) });
}

/** The help, also with its line of usage wrapped. */
const formatHelp = (command: Command, helper: Formatter): string =>
  wrappedText(Formatter.prototype.formatHelp.call(helper, command, helper), helper.helpWidth);

/** A flag or a command with its description: next to it, or below it on a narrow terminal. */
function formatItem(term: string, termWidth: number, description: string, helper: Formatter): string {
  const [width, start] = [helper.helpWidth ?? 80, `  ${term}`];
  if (description === '') return start;
  const beside = width - termWidth - 4;
  if (beside >= BESIDE) {
    const indent = ' '.repeat(termWidth + 4);
    return start.padEnd(indent.length) + helper.boxWrap(description, beside).replaceAll('\n', `\n${indent}`);
  }
  return `${start}\n${helper.boxWrap(description, width - 6).replaceAll(/^/gm, '      ')}`;
}

/** Adds examples and exit codes to the help of every command. Each usage error refers to that help, and ends with the code of an error. */
export function addHelp(program: Command): void {
  for (const { path, command } of leavesOf(program)) {
    command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : errorCodeOf(path)));
    const help = HELP[path];
    if (help) command.addHelpText('after', () => `\n${wrappedText(helpText(path, help), columnsOf(process.stdout))}`);
  }
  pointToHelp(program, program.name());
}

/** Prints only a reference after a usage error. The whole help would scroll the error off the screen. */
function pointToHelp(command: Command, path: string): void {
  reportRefusals(command, 'mcm').showHelpAfterError(`see: ${path} --help`);
  for (const child of command.commands) pointToHelp(child, `${path} ${child.name()}`);
}

function helpText(path: string, { examples }: Help): string {
  const codes = exitCodesOf(path).map(([code, means]) => `  ${String(code).padEnd(4)} ${means}`);
  return [
    'Examples:',
    ...examples.flatMap(([command, does]) => [`  ${command}`, `      ${does}`]),
    '',
    'Exit codes:',
    ...codes,
  ].join('\n');
}
