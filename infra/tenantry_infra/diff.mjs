// Compares templates as CloudFormation will: what is added, changed, replaced or destroyed, resource by resource.
//
//   node diff.mjs PAIRS.json     PAIRS: [{"stack", "old": template, "new": template}]
//
// Prints [{"stack", "id", "type", "action", "changed": [property]}], action one of add, change, replace,
// may-replace, destroy, keep (taken out of the stack, left in the account).

import { readFileSync } from 'node:fs';
import { fullDiff, ResourceImpact } from '@aws-cdk/cloudformation-diff';

const ACTIONS = {
  [ResourceImpact.WILL_CREATE]: 'add',
  [ResourceImpact.WILL_UPDATE]: 'change',
  [ResourceImpact.WILL_REPLACE]: 'replace',
  [ResourceImpact.MAY_REPLACE]: 'may-replace',
  [ResourceImpact.WILL_DESTROY]: 'destroy',
  [ResourceImpact.WILL_ORPHAN]: 'keep',
};

const changes = [];
for (const { stack, old, new: next } of JSON.parse(readFileSync(process.argv[2], 'utf8'))) {
  const diff = fullDiff(old, next);
  diff.resources.forEachDifference((id, change) => {
    const action = ACTIONS[change.changeImpact];
    if (action === undefined) return;
    changes.push({ stack, id, type: change.resourceType, action, changed: Object.keys(change.propertyUpdates) });
  });
}
changes.sort((a, b) => (a.stack + a.id < b.stack + b.id ? -1 : 1));
console.log(JSON.stringify(changes));
