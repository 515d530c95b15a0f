import {
  CODE_MEANINGS,
  type ConditionMeaning,
  DEPLOYMENT_CONDITIONS,
  EVENTS,
  formatDurationMs,
  MACHINE_CONDITIONS,
  MachineCodes,
  NODE_CONDITIONS,
  OPERATION_MEANINGS,
  PHASE_MEANINGS,
  SET_CONDITIONS,
  STATE_MEANINGS,
  STEP_MEANINGS,
  STEP_TEXTS,
  type WordMeaning,
} from '@mcm/api';
import { CALL_RETRIES, errorKindOf } from '@mcm/core';
import {
  CONFIG_EVENTS,
  DAEMON_EVENTS,
  NODE_CONFIG_CONDITIONS,
  POOL_CONDITIONS,
  TEMPLATE_CONDITIONS,
} from '@mcm/machine-config';
import { GENERATED, table } from './text/markdown.ts';

/** Turns the names of runbooks, how-tos and providers in a text into links. */
const linked = (text = ''): string =>
  text
    .replaceAll(/\b([Rr]unbook) (Mcm\w+)/g, '$1 [$2](../runbooks/$2.md)')
    .replaceAll(
      /(?:the )?[Hh]ow-to “([^”]+)”/g,
      (_all, heading: string) => `[${heading}](../how-to.md#${heading.toLowerCase().replaceAll(' ', '-')})`,
    )
    .replaceAll(/\bproviders\/(\w+)/g, '[providers/$1](../../providers/$1/README.md#permissions)')
    .replace(/^[a-z]/, (first) => first.toUpperCase());

type Conditions = Readonly<Record<string, ConditionMeaning>>;

const conditionTable = (conditions: Conditions): string =>
  Object.entries(conditions)
    .map(([type, { means, reasons }]) => {
      const rows = Object.entries(reasons).map(([reason, { status, means: reported, help }]) => [
        reason === '' ? '(none)' : `\`${reason}\``,
        status,
        reported,
        linked(help),
      ]);
      return `### ${type}\n\n${means}\n\n${table(['Reason', 'Status', 'Meaning', 'Action'], rows)}\n`;
    })
    .join('\n');

const wordTable = (heading: string, words: Readonly<Record<string, WordMeaning>>): string =>
  `${table(
    [heading, 'Meaning', 'Action'],
    Object.entries(words).map(([word, { means, help }]) => [`\`${word}\``, means, linked(help)]),
  )}\n`;

const conditionsPage = (): string =>
  [
    GENERATED,
    '# Conditions and phases\n',
    'This page lists the values in the status of objects. The page is for operators who read a status, and for authors of tools.\n',
    '```sh\nmcm explain machinedeployment/workers\n```\n',
    '`mcm explain` explains the status of one object, and shows how to fix a problem. For a pool, run `mcm config explain`.\n',
    '## Phases of a Machine\n\nThe machine controller writes `status.currentStatus.phase`. A new machine has no phase.\n',
    wordTable('Phase', PHASE_MEANINGS),
    '## The last operation of a Machine\n\nIn `status.lastOperation`: `type`, `state`, `errorCode` ([error codes](errors.md)) and `description`.\n',
    wordTable('Type', OPERATION_MEANINGS),
    wordTable('State', STATE_MEANINGS),
    'The description of a deletion contains the text of the current step. The steps of a deletion have this order:\n',
    wordTable(
      'Text of the step',
      Object.fromEntries(Object.entries(STEP_MEANINGS).map(([step, words]) => [textOf(step), words])),
    ),
    '## Conditions of a MachineDeployment\n\nThe machine-controller-manager writes the conditions of a MachineDeployment to `status.conditions`.\n',
    conditionTable(DEPLOYMENT_CONDITIONS),
    '## Conditions of a MachineSet\n\nThe machine-controller-manager writes the conditions of a MachineSet to `status.machineSetCondition`.\n',
    conditionTable(SET_CONDITIONS),
    '## Conditions of a Machine\n\nThe machine controller writes the conditions of a Machine to `status.conditions`, next to copies of the conditions of its Node.\n',
    conditionTable(MACHINE_CONDITIONS),
    '## Conditions of a Node\n\nThe machine controller writes its own conditions to `status.conditions` of the Node. The kubelet writes other conditions. The machine controller copies all conditions of the Node to the status of the Machine.\n',
    conditionTable(NODE_CONDITIONS),
    '## Conditions of a MachineConfigPool\n\nThe machine-config-controller writes the conditions of a MachineConfigPool to `status.conditions`.\n',
    conditionTable(POOL_CONDITIONS),
    '## Conditions of the ControllerConfig\n\nThe machine-config-controller writes the conditions of the ControllerConfig to `status.conditions`.\n',
    conditionTable(TEMPLATE_CONDITIONS),
    '## Conditions of KubeletConfigs and ContainerRuntimeConfigs\n\nThe machine-config-controller writes the conditions of KubeletConfigs and ContainerRuntimeConfigs to `status.conditions`.\n',
    conditionTable(NODE_CONFIG_CONDITIONS),
  ].join('\n');

const isStep = (step: string): step is keyof typeof STEP_TEXTS => Object.hasOwn(STEP_TEXTS, step);
const textOf = (step: string): string => (isStep(step) ? STEP_TEXTS[step] : step);

interface EventMeaning extends WordMeaning {
  readonly on: readonly string[];
  readonly type: string;
}

const eventTable = (events: Readonly<Record<string, EventMeaning>>, kind: string): string =>
  `${table(
    ['Reason', 'Type', 'Meaning', 'Action'],
    Object.entries(events)
      .filter(([, { on }]) => on.includes(kind))
      .map(([reason, { type, means, help }]) => [`\`${reason}\``, type, means, linked(help)]),
  )}\n`;

const MANAGER = 'the machine-controller-manager';
const CONTROLLER = 'the machine controller of the provider';
const CONFIG = 'the machine-config-controller';

const eventsPage = (): string =>
  [
    GENERATED,
    '# Events\n',
    'This page lists the events of the controllers. The page is for operators.\n',
    '```sh\nmcm events machinedeployment/workers\n```\n',
    '`kubectl describe` and `kubectl get events` also show events. The API server keeps an event for an hour. The [status](conditions.md) of an object contains its present state.\n',
    ...(
      [
        ['MachineDeployment', MANAGER, EVENTS],
        ['MachineSet', MANAGER, EVENTS],
        ['Machine', CONTROLLER, EVENTS],
        ['MachineClass', CONTROLLER, EVENTS],
        ['Node', `${CONTROLLER}, in the target cluster`, EVENTS],
        ['MachineConfigPool', CONFIG, CONFIG_EVENTS],
        ['ControllerConfig', CONFIG, CONFIG_EVENTS],
        ['KubeletConfig', CONFIG, CONFIG_EVENTS],
        ['ContainerRuntimeConfig', CONFIG, CONFIG_EVENTS],
        ['Node', CONFIG, CONFIG_EVENTS],
        ['Node', 'the machine-config-daemon', DAEMON_EVENTS],
      ] as const
    ).map(([kind, component, events]) => `## Events of a ${kind}, by ${component}\n\n${eventTable(events, kind)}`),
  ].join('\n');

const CALLS = ['create', 'initialize', 'status', 'delete'] as const;
const minutes = (ms: number): string =>
  formatDurationMs(ms)
    .replace(/(?<=[hm])0s$/, '')
    .replace(/(?<=h)0m$/, '');
const pace = ({ firstMs, maxMs }: { readonly firstMs: number; readonly maxMs: number }): string =>
  firstMs === maxMs ? minutes(firstMs) : `${minutes(firstMs)} … ${minutes(maxMs)}`;

/** Returns the page about error codes of drivers: which component is at fault, and when the next call follows. */
const errorsPage = (): string =>
  [
    GENERATED,
    '# Error codes\n',
    'This page lists the error codes of drivers, and the delays between retries. The page is for operators with failed machines.\n',
    '```sh\nkubectl get machines -o custom-columns=NAME:.metadata.name,CODE:.status.lastOperation.errorCode\n```\n',
    'For a creation, `status.lastOperation.errorCode` of the Machine contains the code. For other calls, `status.lastOperation.description` contains the code. The log and the metric label `error_code` also contain the code. An error of a driver without a code counts as `Unknown`.\n',
    table(
      ['Code', 'Number', 'Kind', 'Fixed by', 'Meaning', 'Action'],
      Object.entries(MachineCodes).map(([code, number]) => {
        const kind = errorKindOf(code);
        const { means, help }: WordMeaning = CODE_MEANINGS[code as keyof typeof MachineCodes];
        return [`\`${code}\``, String(number), kind?.category ?? '', kind?.fault ?? '', means, linked(help)];
      }),
    ),
    '\n## Delays of retries\n',
    'The table shows the delay after the first failure and, if longer, the longest delay after many failures. If the cloud requests a longer delay, the controller waits for the delay of the cloud. The call `status` looks up a VM before its initialization or deletion.\n',
    table(
      ['Code', ...CALLS],
      Object.keys(MachineCodes)
        .filter((code) => code !== 'OK')
        .map((code) => [
          `\`${code}\``,
          ...CALLS.map((call) => pace(CALL_RETRIES[call][code as keyof typeof MachineCodes])),
        ]),
    ),
    '\nAfter `ResourceExhausted` for `create`, the first delay is `--resource-exhausted-retry`. All machines of a class and zone share the delay. The delay doubles after each failure, up to three times the value of the flag. A `NotFound` for `delete` is a success, because the VM no longer exists.\n',
  ].join('\n');

/** Returns the pages about conditions, events and errors. */
export const wordReferenceFiles = (): ReadonlyMap<string, string> =>
  new Map([
    ['docs/reference/conditions.md', conditionsPage()],
    ['docs/reference/events.md', eventsPage()],
    ['docs/reference/errors.md', errorsPage()],
  ]);
