import { tellRefusals } from '@mcm/kube/flags';
import type { Command } from 'commander';
import { exitCodesOf } from './exit-codes.ts';

/** What `--help` of a command tells next to its arguments and flags. */
interface Help {
  /** Commands as they are typed, each with what it does. */
  readonly examples: readonly (readonly [command: string, does: string])[];
}

/** By the words of the command. */
const HELP: Readonly<Record<string, Help>> = {
  up: {
    examples: [
      ['mcm up', 'a cluster and three machines; Ctrl-C ends them, the next start goes on'],
      ['mcm up --provider aws --machines 5', 'the same on an emulator of EC2, with five'],
      ['mcm up --exit-when-ready', 'as a check'],
    ],
  },
  down: { examples: [['mcm down', 'stops the instance on .mcm']] },
  status: {
    examples: [
      ['mcm status', 'of the instance on .mcm'],
      ['mcm status -o json', 'for a program'],
    ],
  },
  logs: {
    examples: [
      ['mcm logs --follow', 'all programs, merged, until Ctrl-C'],
      ['mcm logs machine-controller-manager --level warn --tail 50', 'the last 50 warnings and errors of one'],
      ['mcm logs --machine NAME -o json', 'what is about one machine, one JSON object a line'],
    ],
  },
  'cloud list': { examples: [['mcm cloud list', 'what the cloud of the local instance itself says that it holds']] },
  'rollout status': {
    examples: [
      ['mcm rollout status workers', 'every change until it is complete'],
      ['mcm rollout status workers --no-watch', 'once'],
    ],
  },
  'rollout pause': { examples: [['mcm rollout pause workers', 'scaling goes on, replacing does not']] },
  'rollout resume': { examples: [['mcm rollout resume workers', 'goes on where it was paused']] },
  'rollout restart': { examples: [['mcm rollout restart workers', 'another template, so every machine is replaced']] },
  'rollout undo': {
    examples: [
      ['mcm rollout undo workers', 'to the revision before'],
      ['mcm rollout undo workers --to-revision 3', 'to one of: mcm rollout history workers'],
    ],
  },
  'rollout history': {
    examples: [
      ['mcm rollout history workers', 'revisions, their sets, classes and machines'],
      ['mcm rollout history workers --revision 3', 'the template of one'],
    ],
  },
  explain: {
    examples: [
      ['mcm explain machinedeployment/workers', 'its next step, what it waits for, what would help'],
      ['mcm explain machine/NAME', 'its phase, deadline, drain, and what was kept of its failure'],
      ['mcm explain machine/NAME -o json', 'the same for a program'],
    ],
  },
  drain: {
    examples: [['mcm drain --preview NAME', 'each pod of its node, and what would block it']],
  },
  plan: {
    examples: [
      ['mcm plan -f workers.yaml', 'machines in their order, how long, what stands in the way'],
      ['mcm plan -f workers.yaml -o wide', 'also why each step is taken'],
      ['mcm plan -f workers.yaml --join-time 3m --drain-time 10m', 'with other guesses'],
    ],
  },
  tree: {
    examples: [
      ['mcm tree', 'everything of the namespace'],
      ['mcm tree workers -o wide', 'one deployment, with classes, VMs and zones'],
      ['mcm tree --context prod -n machines', 'of another context of the kubeconfig'],
    ],
  },
  events: {
    examples: [
      ['mcm events', 'of all machines and what owns them, oldest first'],
      ['mcm events machinedeployment/workers', 'of one and all that it owns, past machines too'],
    ],
  },
  'debug bundle': {
    examples: [
      ['mcm debug bundle', 'into a new folder of this moment'],
      ['mcm debug bundle /tmp/for-the-issue -n machines', 'into a folder of that name'],
    ],
  },
  completion: {
    examples: [
      ['source <(mcm completion bash)', 'in this shell'],
      ['mcm completion fish > ~/.config/fish/completions/mcm.fish', 'in every one to come'],
      ['mcm completion kubectl > kubectl_complete-mcm', 'for kubectl mcm: executable, in a folder of $PATH'],
    ],
  },
  dashboard: {
    examples: [
      ['mcm dashboard', 'on any free port; its address is printed'],
      ['mcm dashboard --port 8080 -n machines', 'on that port, of that namespace'],
    ],
  },
  install: {
    examples: [
      ['mcm install --dry-run', 'prints all objects; needs no cluster'],
      ['mcm install --dry-run -o json', 'the same as one List'],
      ['mcm install --provider aws -n machines', 'applies them'],
    ],
  },
  'provider new': { examples: [['mcm provider new hetzner', 'a package in the folder hetzner']] },
  'config render': {
    examples: [['mcm config render pools/ --pool worker', 'what the nodes of one pool would get']],
  },
  'config diff': {
    examples: [
      ['mcm config diff pools/', 'against the cluster'],
      ['mcm config diff new/ --against old/', 'of two directories, without a cluster'],
    ],
  },
  'config status': {
    examples: [['mcm config status -o wide', 'how far each pool is, with the nodes that are behind']],
  },
  'config explain': { examples: [['mcm config explain pool/worker', 'node by node, and what would help']] },
  version: { examples: [['mcm version', 'of this command']] },
};

/** The commands that carry something out, with the words that they are called by. */
export function leavesOf(command: Command, path: readonly string[] = []): { path: string; command: Command }[] {
  const own = command.commands.filter((child) => child.name() !== 'help');
  if (own.length === 0) return [{ path: path.join(' '), command }];
  return own.flatMap((child) => leavesOf(child, [...path, child.name()]));
}

/** Commands that the help of a command shows. */
export const examplesOf = (path: string): readonly string[] => HELP[path]?.examples.map(([command]) => command) ?? [];

/** Adds examples and exit codes to the help of every command, and where it is to what is told of a mistake. */
export function addHelp(program: Command): void {
  for (const { path, command } of leavesOf(program)) {
    const help = HELP[path];
    if (help) command.addHelpText('after', `\n${helpText(path, help)}`);
  }
  pointToHelp(program, program.name());
}

/** The help itself would drive what is wrong off the screen. */
function pointToHelp(command: Command, path: string): void {
  tellRefusals(command, 'mcm').showHelpAfterError(`see: ${path} --help`);
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
