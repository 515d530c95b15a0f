import { reportRefusals } from '@mcm/kube/flags';
import { type Command, Help as Formatter } from 'commander';
import { columnsOf, wrappedText } from '../output/wrap.ts';
import { errorCodeOf, exitCodesOf } from './exit-codes.ts';

/** The parts of the help of a command, in addition to arguments and flags. */
interface Help {
  readonly examples: readonly (readonly [command: string, does: string])[];
}

const HELP: Readonly<Record<string, Help>> = {
  up: {
    examples: [
      [
        'mcm up',
        'starts a cluster with three machines; Ctrl-C stops the cluster, and the next "mcm up" starts the cluster again',
      ],
      ['mcm up --provider aws --machines 5', 'starts five machines on an emulator of EC2'],
      ['mcm up --exit-when-ready', 'exits when all machines are ready'],
    ],
  },
  down: { examples: [['mcm down', 'stops the instance in .mcm']] },
  status: {
    examples: [
      ['mcm status', 'prints the status of the instance in .mcm'],
      ['mcm status -o json', 'prints JSON'],
    ],
  },
  logs: {
    examples: [
      ['mcm logs --follow', 'prints the merged logs of all programs until Ctrl-C'],
      [
        'mcm logs machine-controller-manager --level warn --tail 50',
        'prints the last 50 warnings and errors of one program',
      ],
      ['mcm logs --machine NAME -o json', 'prints the log lines about one machine as JSON, one object on each line'],
    ],
  },
  'cloud interrupt': {
    examples: [
      [
        'mcm cloud interrupt NAME --notice 2m',
        'ends the VM of a machine in two minutes, as the cloud does for a spot VM',
      ],
    ],
  },
  'cloud list': { examples: [['mcm cloud list', 'lists the resources in the cloud of the local instance']] },
  'rollout status': {
    examples: [
      ['mcm rollout status workers', 'prints each change until the rollout is complete'],
      ['mcm rollout status workers --no-watch', 'prints the current state of the rollout'],
    ],
  },
  'rollout pause': {
    examples: [['mcm rollout pause workers', 'stops the replacement of machines; scaling continues']],
  },
  'rollout resume': { examples: [['mcm rollout resume workers', 'continues the rollout']] },
  'rollout promote': {
    examples: [['mcm rollout promote workers', 'continues the rollout without waiting for its canaries']],
  },
  'rollout restart': {
    examples: [['mcm rollout restart workers', 'changes the template, so every machine is replaced']],
  },
  'rollout undo': {
    examples: [
      ['mcm rollout undo workers', 'restores the previous revision'],
      [
        'mcm rollout undo workers --to-revision 3',
        'restores revision 3; to list the revisions: mcm rollout history workers',
      ],
    ],
  },
  'rollout history': {
    examples: [
      ['mcm rollout history workers', 'lists revisions with their sets, classes and machines'],
      ['mcm rollout history workers --revision 3', 'prints the template of revision 3'],
    ],
  },
  'zone list': { examples: [['mcm zone list', 'lists the zones of all MachineDeployments with their machines']] },
  'zone evacuate': {
    examples: [
      ['mcm zone evacuate local-b', 'replaces all machines of the zone, within the limits of each deployment'],
    ],
  },
  'zone return': {
    examples: [['mcm zone return local-b', 'creates machines in the zone again until the zones are balanced']],
  },
  'fleet status': {
    examples: [['mcm fleet status -n mcm', 'lists the replicas of the fleet with the number of their clusters']],
  },
  'fleet clusters': {
    examples: [['mcm fleet clusters -n mcm', 'lists the clusters of the fleet; clusters with a problem come first']],
  },
  'fleet drain': { examples: [['mcm fleet drain 0 -n mcm', 'moves all clusters of replica 0 to the other replicas']] },
  'fleet undrain': { examples: [['mcm fleet undrain 0 -n mcm', 'gives replica 0 its share of the clusters again']] },
  'fleet weight': {
    examples: [
      [
        'mcm fleet weight 1 1 -n mcm',
        'gives replica 1 about 1 % of the clusters, if the other replica has the weight 100',
      ],
    ],
  },
  'fleet move': {
    examples: [['mcm fleet move shoot--a --to 1 -n mcm', 'assigns the cluster to replica 1 of both programs']],
  },
  explain: {
    examples: [
      [
        'mcm explain machinedeployment/workers',
        'shows the next step of the deployment, the cause of a wait, and hints',
      ],
      [
        'mcm explain machine/NAME',
        'shows the phase, deadline and drain of the machine, and the evidence of its failure',
      ],
      ['mcm explain machine/NAME -o json', 'prints JSON'],
      ['mcm explain machine/NAME --watch', 'prints the explanation again after each change'],
      ['mcm explain machinedeployments -l app=web', 'explains each deployment with the given label'],
    ],
  },
  drain: {
    examples: [
      ['mcm drain NAME', 'shows the drain of a machine in deletion: each pod of the node, and the obstacles'],
      ['mcm drain NAME --preview', 'shows each pod of the node, and the obstacles to its eviction'],
    ],
  },
  plan: {
    examples: [
      ['mcm plan -f workers.yaml', 'shows the steps, the duration and the blockers of the rollout'],
      ['mcm plan -f workers.yaml -o wide', 'adds the reason for each step to the plan'],
      ['mcm plan -f workers.yaml --join-time 3m --drain-time 10m', 'replaces the default estimates of durations'],
    ],
  },
  simulate: {
    examples: [
      ['mcm simulate -f workers.yaml', 'runs one history with random actions and faults in the local cloud'],
      [
        'mcm simulate -f workers.yaml --scenario roll --histories 20',
        'measures 20 rollouts, and verifies the safety rules',
      ],
      [
        'mcm simulate -f workers.yaml --provider ./src/driver.ts --seed 17 --story',
        'runs the history of seed 17 with another driver, and prints the events of the history',
      ],
    ],
  },
  tree: {
    examples: [
      ['mcm tree', 'shows all machine objects of the namespace'],
      ['mcm tree workers -o wide', 'shows one deployment with classes, VMs and zones'],
      ['mcm tree --context prod -n machines', 'uses another context of the kubeconfig'],
    ],
  },
  events: {
    examples: [
      ['mcm events', 'lists events of all machines and of the owners of the machines, oldest first'],
      [
        'mcm events machinedeployment/workers',
        'lists events of a deployment, its sets and machines, including deleted machines',
      ],
    ],
  },
  journal: {
    examples: [
      ['mcm journal machine/NAME', 'lists the most recent decisions about a machine and the VM of the machine'],
      ['mcm journal machineset/NAME -o yaml', 'adds the input and the complete result of each decision'],
      ['mcm journal --controller http://127.0.0.1:10259', 'lists all decisions of the controller at the given address'],
    ],
  },
  replay: {
    examples: [
      ['mcm replay mcm-bundle', 'shows the first recorded decision that differs from the decision of this version'],
      ['mcm replay mcm-bundle --all -o json', 'prints all differences between the decisions as JSON'],
    ],
  },
  'debug bundle': {
    examples: [
      ['mcm debug bundle', 'writes the data to a new folder with the current time in its name'],
      ['mcm debug bundle /tmp/for-the-issue -n machines', 'writes the data to the new folder /tmp/for-the-issue'],
    ],
  },
  completion: {
    examples: [
      ['source <(mcm completion bash)', 'enables completion in this shell'],
      ['mcm completion fish > ~/.config/fish/completions/mcm.fish', 'enables completion in all new shells'],
      [
        'mcm completion kubectl > kubectl_complete-mcm',
        'enables completion of "kubectl mcm"; make the file executable and move the file to a directory of the PATH',
      ],
    ],
  },
  dashboard: {
    examples: [
      ['mcm dashboard', 'serves the dashboard on a free port and prints its address'],
      ['mcm dashboard --port 8080 -n machines', 'serves the dashboard of one namespace on port 8080'],
    ],
  },
  install: {
    examples: [
      ['mcm install --dry-run --provider aws', 'prints all objects of the installation, without a cluster'],
      ['mcm install --dry-run --provider aws -o json', 'prints all objects of the installation as one List'],
      ['mcm install --provider aws -n machines', 'applies them'],
    ],
  },
  'provider new': {
    examples: [
      ['mcm provider new hetzner', 'creates the folder hetzner with a package for the driver of another cloud'],
    ],
  },
  'config render': {
    examples: [
      [
        'mcm config render pools/ --pool worker',
        'prints the configuration that the controllers would render for one pool',
      ],
    ],
  },
  'config diff': {
    examples: [
      ['mcm config diff pools/', 'compares the files in pools/ with the cluster'],
      ['mcm config diff new/ --against old/', 'compares two directories, without a cluster'],
    ],
  },
  'config status': {
    examples: [
      [
        'mcm config status -o wide',
        'shows the progress of each pool, and the nodes that do not have the target configuration yet',
      ],
    ],
  },
  'config explain': {
    examples: [['mcm config explain pool/worker', 'explains the state of each node, with hints']],
  },
  version: { examples: [['mcm version', 'prints the version of this command']] },
};

export function leavesOf(command: Command, path: readonly string[] = []): { path: string; command: Command }[] {
  const own = command.commands.filter((child) => child.name() !== 'help');
  if (own.length === 0) return [{ path: path.join(' '), command }];
  return own.flatMap((child) => leavesOf(child, [...path, child.name()]));
}

export const examplesOf = (path: string): readonly string[] => HELP[path]?.examples.map(([command]) => command) ?? [];

/**
 * The minimum number of columns for descriptions next to the flags. On a narrower terminal, each description is below
 * its flag.
 */
const BESIDE = 40;

/** Configures a command and its subcommands. */
export function forTerminals(command: Command): Command {
  return command
    .configureHelp({ minWidthToWrap: 20, formatItem, formatHelp })
    .configureOutput({ writeErr: (text) => process.stderr.write(wrappedText(text, columnsOf(process.stderr))) });
}

const formatHelp = (command: Command, helper: Formatter): string =>
  wrappedText(Formatter.prototype.formatHelp.call(helper, command, helper), helper.helpWidth);

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

/** Adds examples and exit codes to the help of every command. */
export function addHelp(program: Command): void {
  for (const { path, command } of leavesOf(program)) {
    command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : errorCodeOf(path)));
    const help = HELP[path];
    if (help) command.addHelpText('after', () => `\n${wrappedText(helpText(path, help), columnsOf(process.stdout))}`);
  }
  pointToHelp(program, program.name());
}

/** After an error in the arguments, prints a hint about `--help`. */
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
