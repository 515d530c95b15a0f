import { MACHINE_FEATURES, machineFlags } from '@mcm/core';
import { commonFlags, type Features, type Flag, type Flags, flagGroup, variableOf } from '@mcm/kube';
import { machineConfigController } from '@mcm/machine-config-controller';
import { machineControllerManager } from '@mcm/machine-controller-manager';
import { awsFlags } from '@mcm/provider-aws';
import { azureFlags } from '@mcm/provider-azure';
import { gcpFlags } from '@mcm/provider-gcp';
import { localFlags } from '@mcm/provider-local';
import { GENERATED, table } from './markdown.ts';

/** A binary's flags, by the headings of its `--help`. */
function sections(flags: Flags): string {
  const groups = Map.groupBy(Object.entries(flags), ([, flag]) =>
    flag.ignored === undefined ? (flag.group ?? 'Flags of this binary') : 'Accepted for compatibility, without effect',
  );
  return [...groups].map(([group, entries]) => `### ${group}\n\n${table(HEADING, entries.map(row))}\n`).join('\n');
}

const HEADING = ['Flag', 'Value', 'Default', 'Environment', 'What it does'];

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

/** The page of all flags, made of the flags themselves. */
export function flagReferenceFiles(): ReadonlyMap<string, string> {
  const { defaults, flags } = machineControllerManager;
  const own = new Set(Object.keys(commonFlags(defaults)));
  const machine: Flags = machineFlags;
  const common = commonFlags({ port: 0, concurrency: 0, controllers: [] });
  const shown: Flags = {
    ...common,
    port: { ...common.port, shown: '10258 / 10259' },
    'feature-gates': {
      ...common['feature-gates'],
      help: 'what is switched on or off ([feature gates](#feature-gates)); AllAlpha and AllBeta stand for those of a stage that are not named',
    },
    'concurrent-syncs': { ...common['concurrent-syncs'], shown: '10 / 50' },
  };
  const text = [
    GENERATED,
    '# Flags\n',
    'Where a value may stand besides: [configuration.md](../configuration.md).\n',
    '## Both binaries\n\nDefaults that differ are those of `machine-controller-manager` and of a machine controller.\n',
    sections(shown),
    '## machine-controller-manager\n',
    sections(Object.fromEntries(Object.entries<Flag<unknown>>(flags).filter(([name]) => !own.has(name)))),
    '## machine-controller-aws, -azure, -gcp, -local\n',
    sections(machine),
    ...Object.entries<Flags>({ aws: awsFlags, azure: azureFlags, gcp: gcpFlags, local: localFlags }).flatMap(
      ([provider, own]) => [`## machine-controller-${provider} beside those\n`, sections(flagGroup('Cloud', own))],
    ),
    '## Feature gates\n',
    'Switched by `--feature-gates=Name=false`, told by the metric `kubernetes_feature_enabled`. BETA features are on by default, ALPHA features off.\n',
    table(
      ['Binary', 'Feature', 'Stage', 'When it is on'],
      [
        ...featureRows('machine-controller-manager', defaults.features),
        ...featureRows('machine-controller-…', MACHINE_FEATURES),
      ],
    ),
    '\n## machine-config-controller\n',
    sections(machineConfigController.flags),
  ].join('\n');
  return new Map([['docs/reference/flags.md', text]]);
}
