// Package templates makes the text of a flow out of a template. [Fill] gives values to the
// placeholders of a text, like ${NAME}. [Find] finds the flows in a template of ROS, of Funcraft,
// of Serverless Devs, of SAM or of CloudFormation, and [Flow.Import] returns their definitions.
//
// A value replaces a part of one scalar of the YAML document and never its structure: the package
// quotes where needed, and reads the result again to compare it with the intended values.
//
// The package is pure.
//
// This package is not an API and may change between releases.
package templates
