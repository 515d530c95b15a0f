export interface PackageIn {
  readonly name: string;
  /** The folder that contains the package.json of the package. */
  readonly folder: string;
}
