export interface PackageIn {
  readonly name: string;
  /** The folder of its package.json. */
  readonly folder: string;
}
