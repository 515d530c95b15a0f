/** A published program: its start module, and the files that it reads. */
export interface Binary {
  readonly name: string;
  readonly folder: string;
  readonly entry: string;
  readonly specifier: string;
  /** Folders of the package that the program reads at run time. */
  readonly assets: readonly string[];
  /** Whether the program runs in a cluster and needs an image. */
  readonly image: boolean;
  /** Whether the program has the common flags of `@mcm/kube`. */
  readonly controller: boolean;
  /** Controllers have no sample, because a controller needs a cluster. */
  readonly sample: readonly string[];
}

const binary = (name: string, folder: string, specifier: string, more: Partial<Binary> = {}): Binary => ({
  name,
  folder,
  entry: 'src/main.ts',
  specifier,
  assets: [],
  image: false,
  controller: more.image === true,
  sample: ['--help'],
  ...more,
});

/** `mcm-conformance` is not bundled, because driver authors import its packages from their own modules. */
export const BINARIES: readonly Binary[] = [
  binary('machine-controller-manager', 'apps/machine-controller-manager', '@mcm/machine-controller-manager/main', {
    image: true,
  }),
  binary('machine-controller-local', 'providers/local', '@mcm/provider-local/main', { image: true }),
  binary('machine-controller-aws', 'providers/aws', '@mcm/provider-aws/main', { image: true }),
  binary('machine-controller-azure', 'providers/azure', '@mcm/provider-azure/main', { image: true }),
  binary('machine-controller-gcp', 'providers/gcp', '@mcm/provider-gcp/main', { image: true }),
  binary('machine-config-controller', 'apps/machine-config-controller', '@mcm/machine-config-controller/main', {
    image: true,
    assets: ['templates'],
  }),
  binary('machine-config-daemon', 'apps/machine-config-daemon', '@mcm/machine-config-daemon/main', {
    controller: true,
  }),
  binary('local-cloud', 'providers/local', '@mcm/provider-local/cloud/main', { entry: 'src/cloud/main.ts' }),
  binary('cloud-emulator', 'apps/cloud-emulators', '@mcm/cloud-emulators/main'),
  binary('control-plane', 'packages/control-plane', '@mcm/control-plane/main'),
  binary('mcm', 'apps/mcm', '@mcm/cli', {
    image: true,
    controller: false,
    assets: ['../../packages/conformance/examples', '../machine-config-controller/templates'],
    // The sample is not `--help`, because `--help` would load only the commands and flags.
    sample: ['config', 'render', '.'],
  }),
];

/**
 * Returns the program with a given name. If no program has the name, the function throws an error that lists all names.
 */
export function binaryNamed(name: string): Binary {
  const found = BINARIES.find((each) => each.name === name);
  if (found) return found;
  throw new Error(`unknown binary "${name}"; known binaries: ${BINARIES.map((each) => each.name).join(', ')}`);
}
