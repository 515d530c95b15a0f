/** A program that is shipped: where it starts, and the files it reads next to its code. */
export interface Binary {
  /** Name of the command, and of the image if the program runs in a cluster. */
  readonly name: string;
  /** Folder of the package, from the repository's root. */
  readonly folder: string;
  /** Module whose start is the program, from the package's folder. */
  readonly entry: string;
  /** How other programs find it: `import.meta.resolve`. */
  readonly specifier: string;
  /** Folders of the package that it reads at run time. */
  readonly assets: readonly string[];
  /** Whether it runs in a cluster, and so has an image. */
  readonly image: boolean;
  /** Whether it has the flags of `@mcm/kube`'s binaries. */
  readonly controller: boolean;
  /** A command line that runs most of the code, needs no environment, and ends with the same output. Absent for controllers. */
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

/** All programs but `mcm-conformance`, which runs an author's modules and must share its packages with them. */
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
    // For the dashboard in a cluster.
    image: true,
    controller: false,
    assets: ['../../packages/conformance/examples', '../machine-config-controller/templates'],
    // With --help it would load words and flags alone.
    sample: ['config', 'render', '.'],
  }),
];

/** The binary of a name. Throws an error that lists those there are. */
export function binaryNamed(name: string): Binary {
  const found = BINARIES.find((each) => each.name === name);
  if (found) return found;
  throw new Error(`no binary "${name}"; there are ${BINARIES.map((each) => each.name).join(', ')}`);
}
