import type { ProgramFlags } from '@mcm/cli';
import { MACHINE_FEATURES, machineFlags } from '@mcm/core';
import { commonFlags, type Features, type Flag, type Flags, flagGroup, fleetFlags, variableOf } from '@mcm/kube';
import { machineConfigController } from '@mcm/machine-config-controller';
import { machineConfigDaemon } from '@mcm/machine-config-daemon';
import { machineControllerManager } from '@mcm/machine-controller-manager';
import { awsFlags } from '@mcm/provider-aws';
import { azureFlags } from '@mcm/provider-azure';
import { gcpFlags } from '@mcm/provider-gcp';
import { localFlags } from '@mcm/provider-local';
import { GENERATED, table } from './text/markdown.ts';

/** Returns the flags of a program, grouped as in its `--help`. */
function sections(flags: Flags): string {
  const groups = Map.groupBy(Object.entries(flags), ([, flag]) =>
    flag.ignored === undefined ? (flag.group ?? 'Flags of this binary') : 'Accepted for compatibility, without effect',
  );
  return [...groups].map(([group, entries]) => `### ${group}\n\n${table(HEADING, entries.map(row))}\n`).join('\n');
}

const HEADING = ['Flag', 'Value', 'Default', 'Environment', 'Description'];

function row([name, flag]: readonly [string, Flag<unknown>]): string[] {
  const older = Object.keys(flag.deprecated ?? {}).map((old) => `\`--${old}\``);
  const help = older.length > 0 ? `${flag.help} (older: ${older.join(', ')})` : flag.help;
  return [
    `\`--${name}\``,
    `\`${flag.placeholder}\``,
    flag.shown === '' ? '' : `\`${flag.shown}\``,
    `\`${variableOf(name)}\``,
    help,
  ];
}

const featureRows = (binary: string, features: Features = {}): string[][] =>
  Object.entries(features).map(([name, { stage, help }]) => [`\`${binary}\``, `\`${name}\``, stage, help]);

const BINARIES = {
  'machine-controller-manager': machineControllerManager.defaults,
  'machine-controller-…': { port: 10_259, concurrency: 50, controllers: [] },
  'machine-config-controller': machineConfigController.defaults,
  'machine-config-daemon': machineConfigDaemon.defaults,
};

const CLOUDS = { aws: awsFlags, azure: azureFlags, gcp: gcpFlags, local: localFlags };

/** Returns all flags of each program, which the Helm chart accepts as values. */
export function programFlags(): ProgramFlags {
  const [manager, controller, configController, configDaemon] = Object.values(BINARIES).map(
    (defaults): Flags => commonFlags(defaults),
  );
  return {
    manager: { ...manager, ...fleetFlags, ...machineControllerManager.flags },
    controllers: Object.fromEntries(
      Object.entries(CLOUDS).map(([name, own]) => [name, { ...controller, ...fleetFlags, ...machineFlags, ...own }]),
    ),
    configController: { ...configController, ...machineConfigController.flags },
    configDaemon: { ...configDaemon, ...machineConfigDaemon.flags },
  };
}

function commonOfAll(): Flags {
  const all = Object.values(BINARIES).map((defaults): Flags => commonFlags({ ...defaults, controllers: [] }));
  const shown = (name: string): string => {
    const each = all.map((flags) => flags[name]?.shown ?? '');
    return new Set(each).size === 1 ? (each[0] ?? '') : each.join(' / ');
  };
  const common: Flags = Object.fromEntries(
    Object.entries(all[0] ?? {}).map(([name, flag]) => [name, { ...flag, shown: shown(name) }]),
  );
  const withHelp = (name: string, help: string): Flags => {
    const flag = common[name];
    return flag === undefined ? {} : { [name]: { ...flag, help } };
  };
  return {
    ...common,
    ...withHelp(
      'feature-gates',
      'features to enable or disable ([feature gates](#feature-gates)); AllAlpha and AllBeta set all unlisted features of a stage',
    ),
    ...withHelp(
      'concurrent-syncs-by-controller',
      'number of workers of one controller, which overrides --concurrent-syncs; `--help` lists the controllers',
    ),
  };
}

/** Generates the page with all flags. */
export function flagReferenceFiles(): ReadonlyMap<string, string> {
  const { defaults, flags } = machineControllerManager;
  const own = new Set(Object.keys(commonFlags(defaults)));
  const machine: Flags = machineFlags;
  const binaries = Object.keys(BINARIES).map((name) => `\`${name}\``);
  const text = [
    GENERATED,
    '# Flags\n',
    'This page lists the flags of all programs. The page is for operators who configure an installation.\n',
    '```sh\nnpx -y pnpm@12 machine-controller-manager --help\n```\n',
    'In an installation, set flags with `mcm install` (`--manager-flag`, `--controller-flag`) or with the chart (`flags.manager`, `flags.controller`). The page [Configuration](../configuration.md) describes environment variables and the configuration file.\n',
    `## All binaries\n\nIf the defaults differ, the table lists them in this order: ${binaries.join(', ')}.\n`,
    sections(commonOfAll()),
    '## Fleet mode\n',
    'The machine-controller-manager and all machine controllers have the flags for fleets. The page [Fleet mode](../fleet-mode.md) describes the flags.\n',
    sections(fleetFlags),
    '## machine-controller-manager\n',
    sections(Object.fromEntries(Object.entries<Flag<unknown>>(flags).filter(([name]) => !own.has(name)))),
    '## machine-controller-aws, -azure, -gcp, -local\n',
    sections(machine),
    ...Object.entries<Flags>(CLOUDS).flatMap(([provider, own]) => [
      `## More flags of machine-controller-${provider}\n`,
      sections(flagGroup('Cloud', own)),
    ]),
    '## Feature gates\n',
    '`--feature-gates=Name=false` disables a feature. The metric `kubernetes_feature_enabled` shows the enabled features. BETA features are enabled by default, ALPHA features are not.\n',
    table(
      ['Program', 'Feature', 'Stage', 'Effect'],
      [
        ...featureRows('machine-controller-manager', defaults.features),
        ...featureRows('machine-controller-…', MACHINE_FEATURES),
      ],
    ),
    '\n## machine-config-controller\n',
    sections(machineConfigController.flags),
    '## machine-config-daemon\n',
    sections(machineConfigDaemon.flags),
    '## Programs for laptops and tests\n',
    'These programs read flags only from the command line. `--help` and these pages list the flags: [control-plane](../../packages/control-plane/README.md#the-command),',
    '[local-cloud](../../providers/local/README.md), [cloud-emulator](../../apps/cloud-emulators/README.md). The same applies to the commands of [mcm](../../apps/mcm/README.md).\n',
  ].join('\n');
  return new Map([['docs/reference/flags.md', text]]);
}
